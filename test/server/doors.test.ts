import { expect } from 'chai'
import { openStage } from '../support/doors/open-stage.ts'
import { Player, type Step } from '../support/doors/player.ts'
import { at, playScripts } from '../support/doors/scripts.ts'

const SCRIPTS = 200
/** Scripts that failed once, as they were shrunk. */
const KEPT: Readonly<Record<string, readonly Step[]>> = {
  'a client that leaves ends the run of its message, also over a call that waits': [
    at('background', 'say', { command: 'pay' }),
    at('socket', 'hang'),
    at('plain', 'say', { command: 'pay' }),
    at('streamed', 'hang'),
    at('plain', 'say'),
  ],
  'an answer that is kept goes on when the other calls expire, whichever door took it': [
    at('runs', 'say', { command: 'both' }),
    at('inbox', 'answer', { isWhole: false }),
    at('plain', 'expire'),
    at('runs', 'say', { command: 'both' }),
    at('plain', 'answer', { isWhole: false }),
    at('plain', 'expire'),
    at('plain', 'say'),
  ],
  'a decision is not carried out again in a branch of the conversation': [
    at('runs', 'say', { command: 'mix' }),
    at('inbox', 'answer', { isWhole: false }),
    at('plain', 'answer'),
    at('streamed', 'again'),
    at('plain', 'say'),
  ],
  'a decision that was kept beside a call of the client is carried out once': [
    at('project', 'say', { command: 'mix' }),
    at('streamed', 'answer', { isWhole: false }),
    at('plain', 'answer'),
    at('plain', 'again'),
    at('runs', 'again'),
    at('plain', 'say'),
  ],
  'a state of MCP that comes again while another call is open changes nothing': [
    at('mcp', 'say', { command: 'both' }),
    at('inbox', 'answer', { isWhole: false }),
    at('mcp', 'again'),
    at('mcp', 'answer'),
  ],
  'a message goes on with a run that was cancelled, and says so of its calls': [
    'runs',
    'plain',
    'streamed',
    'background',
    'socket',
  ].flatMap((door) => [
    at('background', 'say', { command: 'look' }),
    at('runs', 'cancel'),
    at(door as 'runs', 'say'),
    at('background', 'say', { command: 'mix' }),
    at('background', 'cancel'),
    at(door as 'runs', 'say'),
  ]),
  'an approval that has expired beside a call of the client is not asked again, in no branch': [
    'runs',
    'plain',
    'project',
    'background',
  ].flatMap((door) => [
    at('runs', 'say', { command: 'mix' }),
    at('plain', 'expire'),
    at(door as 'runs', 'answer'),
    at('plain', 'again'),
    at('streamed', 'again'),
  ]),
  'a decision that was kept in a run that was cancelled carries out nothing': [
    at('plain', 'say', { command: 'mix' }),
    at('streamed', 'answer', { isWhole: false }),
    at('runs', 'cancel'),
    at('plain', 'say'),
    at('background', 'say', { command: 'mix' }),
    at('inbox', 'answer', { isWhole: false, decision: 'reject' }),
    at('background', 'cancel'),
    at('runs', 'say'),
  ],
  'a word that MCP does not know leaves its call open': ['pay', 'child'].flatMap((command) => [
    at('mcp', 'begin', { command: command as 'pay' }),
    at('mcp', 'wrong'),
    at('mcp', 'answer'),
  ]),
  'a message over what has expired says so': [
    at('runs', 'say', { command: 'mix' }),
    at('plain', 'expire'),
    at('runs', 'say', { command: 'both' }),
    at('plain', 'expire'),
    at('plain', 'say', { command: 'ask' }),
    at('plain', 'expire'),
    at('runs', 'say'),
  ],
}

describe('one conversation through every door', () => {
  let stage: Awaited<ReturnType<typeof openStage>>
  let conversations = 0
  const play = (steps: readonly Step[]) => new Player(stage, `c${conversations++}`).play(steps)

  before(async () => {
    stage = await openStage()
  })
  after(() => stage?.close())

  for (const [title, steps] of Object.entries(KEPT)) {
    it(title, async () => {
      await play(steps)
    })
  }

  it(`${SCRIPTS} random scripts: the same trail and the same effects, each once, and nothing lost`, async () => {
    expect(await playScripts(play, { count: SCRIPTS }), 'scripts that change the door').to.be.at.least(SCRIPTS / 2)
  }).timeout(300_000)
})
