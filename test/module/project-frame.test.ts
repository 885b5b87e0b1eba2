import { expect } from 'chai'
import { readProjectFrame } from '../../src/module/project-frame.ts'

describe('readProjectFrame', () => {
  it('reads lines that name a file of the project', () => {
    const dir = '/home/me/my (new) project'
    const read = (text: string) => readProjectFrame(`    at ${text}`, dir, 'linux')
    expect(read(`async load (${dir}/lib/main.ts:3:7)`)).to.deep.equal({
      lead: '    at async load (',
      file: 'lib/main.ts',
      line: '3',
      column: '7',
    })
    expect(read('Module._compile (node:internal/modules/cjs/loader:1554:14)')).to.equal(undefined)
    expect(read('file:///opt/other/x.mjs:1:1')).to.equal(undefined)
    expect(read(`async load (${dir}/node_modules/openai/core.ts:3:7)`)).to.equal(undefined)
    expect(readProjectFrame('Error: at load', dir, 'linux')).to.equal(undefined)
    expect(read('f (file://host/x.js:1:2)')).to.equal(undefined)
  })

  it('understands Windows paths', () => {
    const read = (text: string) => readProjectFrame(`    at ${text}`, 'C:\\work\\proj', 'win32')
    for (const text of [
      'new Thing (C:\\work\\proj\\lib\\main.ts:3:7)',
      'C:\\work\\proj\\lib\\main.ts:3:7',
      'async file:///C:/work/proj/lib/main.ts:3:7',
    ]) {
      expect(read(text)).to.include({ file: 'lib/main.ts', line: '3', column: '7' })
    }
    expect(read('D:\\else\\x.js:1:1')).to.equal(undefined)
  })
})
