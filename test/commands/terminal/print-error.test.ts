import { expect } from 'chai'
import { stderrLog } from '../../../src/commands/agents/open-agents.ts'
import commandNotFound from '../../../src/commands/help/command-not-found.ts'

describe('warnings of commands', () => {
  const { stderr } = process
  const { isTTY, write } = stderr
  afterEach(() => Object.assign(stderr, { isTTY, write }))

  it('show a terminal no character that would move its cursor or turn the text around', () => {
    const written: unknown[] = []
    Object.assign(stderr, { isTTY: true, write: (text: unknown) => written.push(text) })
    stderrLog.warn('tool \u001b[2Kpay \u202e001')
    stderrLog.error('\u009b2J')
    expect(written).to.deep.equal(['Warning: tool \\u001b[2Kpay \\u202e001\n', 'Error: \\u009b2J\n'])
  })

  it('show the word that is no command likewise', async () => {
    const written: string[] = []
    Object.assign(stderr, { isTTY: true, write: (text: string) => written.push(text) })
    const given = { id: '\u202eno\u001b[2J', config: { commandIDs: ['serve'] }, context: { exit: () => {} } }
    await commandNotFound.call({} as never, given as never)
    expect(written[0]).to.equal("Error: There is no command '\\u202eno\\u001b[2J'.\n")
  })
})
