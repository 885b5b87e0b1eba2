import { expect } from 'chai'
import { addOrigin, putOrigin, takeOrigin } from '../../../src/project/eject/origin-line.ts'

describe('the origin line of a copy', () => {
  for (const [path, body, whole] of [
    ['llm/auto.ts', 'a\nb', '// ejected from agent-host 1.2.3: llm/auto.ts\na\nb'],
    ['llm/lib/a.ts', 'a\r\nb\r\n', '// ejected from agent-host 1.2.3: llm/lib/a.ts\r\na\r\nb\r\n'],
    ['x/a.py', '#!/usr/bin/python3\na\n', '#!/usr/bin/python3\n# ejected from agent-host 1.2.3: x/a.py\na\n'],
    ['x/a.ts', '', '// ejected from agent-host 1.2.3: x/a.ts\n'],
  ] as const) {
    it(`is added to and removed from ${path}: ${JSON.stringify(body)}`, () => {
      expect(addOrigin(path, body, '1.2.3')).to.equal(whole)
      expect(takeOrigin(whole).body).to.equal(body)
    })
  }

  it('is omitted in formats without comments', () => {
    expect(addOrigin('x/words.json', '{}', '1.2.3')).to.equal('{}')
  })

  it('is found and updated below a licence and after a byte order mark', () => {
    for (const lead of ['/* Mine\n */\n', '\xef\xbb\xbf']) {
      const whole = `${lead}// ejected from agent-host 1.2.3: a/b.ts\ncode\n`
      const { body, origin } = takeOrigin(whole)
      expect(origin?.version).to.equal('1.2.3')
      if (!origin) throw new Error('There is no line.')
      expect(putOrigin('a/b.ts', { body, origin })).to.equal(whole)
      expect(putOrigin('a/b.ts', { body, origin: { ...origin, version: '2.0.0' } })).to.equal(
        whole.replace('1.2.3', '2.0.0'),
      )
    }
  })

  it('is not added again if its owner removed it', () => {
    expect(takeOrigin('code\n')).to.deep.equal({ body: 'code\n' })
    expect(putOrigin('a/b.ts', { body: 'code\n' })).to.equal('code\n')
  })
})
