import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const COMMANDS =
  'Commands: approvals, chat, check, completion, dev, docs, doctor, eject, eval, init, mcp, memory, new, replay, run, runs, schedules, schema, serve, test, tool, worker'

const MISTAKES: readonly (readonly [args: string[], lines: string[]])[] = [
  [['srve'], ["Error: There is no command 'srve'.", "Did you mean 'serve'?", COMMANDS]],
  [
    ['help', 'chekc'],
    ["Error: There is no command 'chekc'.", "Did you mean 'check'?", COMMANDS],
  ],
  [
    ['constructor', '--help'],
    ["Error: There is no command 'constructor'.", COMMANDS],
  ],
  [['--hepl'], ["Error: There is no flag '--hepl'.", "Did you mean '--help'?", COMMANDS]],
  [
    ['serve', 'now'],
    ["Error: 'serve' takes no argument 'now'.", 'See more help with agent-host serve --help'],
  ],
  [
    ['serve', '--prot', '1'],
    ['Error: There is no flag --prot.', "Did you mean '--port'?", 'See more help with agent-host serve --help'],
  ],
  [
    ['serve', '--port'],
    ['Error: --port needs a value.', 'See more help with agent-host serve --help'],
  ],
  [
    ['serve', '--port', 'http'],
    ["Error: --port (AGENT_HOST_PORT) must be a whole number from 0 to 65535, not 'http'."],
  ],
  [['serve', '--mcp-api-key', ''], ['Error: --mcp-api-key (MCP_API_KEY) must not be empty.']],
  [['dev', '--compat-api-key='], ['Error: --compat-api-key (CUSTOM_COMPAT_API_KEY) must not be empty.']],
  [['dev', '--debug-ui', 'maybe'], ["Error: --debug-ui (AGENT_HOST_DEBUG_UI) must be true or false, not 'maybe'."]],
  [
    ['init'],
    [
      'Error: The name of the project is missing.',
      'agent-host init <name>',
      'In the current folder: agent-host init .',
    ],
  ],
  [['init', ''], ['Error: The name of the project must not be empty.']],
  [
    ['init', 'a', 'b'],
    ['Error: Unexpected argument: b', 'See more help with agent-host init --help'],
  ],
  [
    ['new', 'agent', 'a b'],
    [
      "Error: The name of an agent must be 1 to 128 letters, digits, '_', '.' or '-', a letter or digit first; not 'a b'.",
    ],
  ],
  [
    ['new', 'thing', 'x'],
    ["Error: 'thing' is none of: agent, tool, module.", 'See more help with agent-host new --help'],
  ],
  [
    ['runs', 'shwo'],
    ["Error: 'runs' takes no argument 'shwo'.", "Did you mean 'show'?", 'See more help with agent-host runs --help'],
  ],
  [
    ['runs', 'show'],
    [
      'Error: Missing arguments:',
      'run_id  Id of the run, or its first characters',
      'See more help with agent-host runs show --help',
    ],
  ],
  [
    ['runs', '--limit', 'x'],
    ["Error: --limit must be a whole number, not 'x'.", 'See more help with agent-host runs --help'],
  ],
  [
    ['approvals', 'edit', 'mcpr_1'],
    ['Error: --arguments is missing.', 'See more help with agent-host approvals edit --help'],
  ],
  [
    ['store', 'chekc'],
    [
      "Error: 'store' takes no argument 'chekc'.",
      "Did you mean 'check'?",
      'See more help with agent-host store --help',
    ],
  ],
  [['runs', '--limit', '0'], ['Error: --limit must be from 1 to 10000, not 0.']],
  [
    ['runs', '--status', 'odd'],
    [
      "Error: The status of a run is one of running, completed, waiting, expired, handed_to_client, continued, failed, cancelled, interrupted, not 'odd'.",
    ],
  ],
  [
    ['eject'],
    [
      'Error: Modules can be chosen from a list only on a terminal.',
      'Name them: agent-host eject -m <package/item>',
      'List them: agent-host eject list',
    ],
  ],
  [
    ['eject', '-m'],
    ['Error: --module needs a value.', 'See more help with agent-host eject --help'],
  ],
  [
    ['eject', 'lst'],
    ["Error: 'eject' takes no argument 'lst'.", "Did you mean 'list'?", 'See more help with agent-host eject --help'],
  ],
  [
    ['eject', 'llm/auto'],
    [
      "Error: 'eject' takes no argument 'llm/auto'.",
      'To copy a module: agent-host eject -m llm/auto',
      'See more help with agent-host eject --help',
    ],
  ],
  [
    ['eject', 'list', 'llm'],
    ["Error: 'eject list' takes no argument 'llm'.", 'See more help with agent-host eject list --help'],
  ],
  [['init', 'a', '--python', 'new'], ["Error: --python must be a version such as 3.12, not 'new'."]],
]

describe('usage errors', () => {
  for (const [args, lines] of MISTAKES) {
    it(`'${args.join(' ')}' exits with 2 and the next step`, async () => {
      const { dir } = await makeProject()
      const { exitCode, stdout, stderr } = await callCli(args, { cwd: dir })
      const said = stderr.trimEnd().split('\n')
      expect({ exitCode, stdout, said: said.map((line) => line.trim()) }).to.deep.equal({
        exitCode: 2,
        stdout: '',
        said: lines,
      })
    })
  }

  it('show a stack only with DEBUG', async () => {
    const { stderr } = await runCli(['serve', '--port', 'http'], { env: { DEBUG: '1' } })
    expect(stderr).to.match(/HostError: .*\n\s+at /)
  })
})
