import { expect } from 'chai'
import { findStackPlace } from '../../src/module/find-stack-place.ts'

const stack = (...frames: string[]) => ['Error: at load', ...frames.map((frame) => `    at ${frame}`)].join('\n')

describe('findStackPlace', () => {
  it('finds the first file of the project', () => {
    const text = stack(
      'Module._compile (node:internal/modules/cjs/loader:1554:14)',
      'file:///opt/other/x.mjs:1:1',
      'async load (/home/me/my (new) project/lib/main.ts:3:7)',
      '/home/me/my (new) project/lib/other.ts:9:9',
    )
    expect(findStackPlace(text, '/home/me/my (new) project', 'linux')).to.deep.equal({
      file: 'lib/main.ts',
      line: '3',
      column: '7',
    })
    expect(findStackPlace(text, '/home/you', 'linux')).to.equal(undefined)
  })

  it('understands Windows paths', () => {
    const place = { file: 'lib/main.ts', line: '3', column: '7' }
    for (const frame of [
      'new Thing (C:\\work\\proj\\lib\\main.ts:3:7)',
      'C:\\work\\proj\\lib\\main.ts:3:7',
      'async file:///C:/work/proj/lib/main.ts:3:7',
    ]) {
      const text = stack('node:internal/modules/esm/module_job:271:25', 'D:\\else\\x.js:1:1', frame)
      expect(findStackPlace(text, 'C:\\work\\proj', 'win32')).to.deep.equal(place)
    }
  })
})
