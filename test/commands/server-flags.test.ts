import { expect } from 'chai'
import { fillSwitches, readServerFlags } from '../../src/commands/server/server-flags.ts'

describe('server flags', () => {
  const SWITCHES: readonly (readonly [string[], string[]])[] = [
    [['--debug-ui'], ['--debug-ui', 'true']],
    [
      ['--debug-ui', '--port', '1'],
      ['--debug-ui', 'true', '--port', '1'],
    ],
    [
      ['--debug-ui', 'true'],
      ['--debug-ui', 'true'],
    ],
    [
      ['--debug-ui', 'false'],
      ['--debug-ui', 'false'],
    ],
    [
      ['--debug-ui=true', '--require-auth'],
      ['--debug-ui=true', '--require-auth', 'true'],
    ],
    [
      ['--port', '1'],
      ['--port', '1'],
    ],
  ]
  for (const [given, filled] of SWITCHES) {
    it(`'${given.join(' ')}' is read as '${filled.join(' ')}'`, () => {
      expect(fillSwitches(given)).to.deep.equal(filled)
    })
  }

  it("given flags take precedence over the command's defaults", () => {
    const preferred = { port: 9001, debug: true, adapters: ['ChatCompatApiAdapter'] }
    expect(readServerFlags({ port: '9100', 'debug-ui': 'false' }, preferred)).to.include({ port: 9100, debug: false })
    expect(readServerFlags({}, preferred)).to.deep.include(preferred)
  })
})
