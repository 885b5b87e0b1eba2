import { AgentHost, type ScorerArguments } from 'agent-host'

/** Without agents. */
const HOST = new AgentHost({ environment: {} })

/** Arguments of a scorer: what a test does not name is empty. */
export function scorerArguments({
  run,
  ...rest
}: Partial<Omit<ScorerArguments, 'run'>> & { run?: Partial<ScorerArguments['run']> } = {}): ScorerArguments {
  return {
    input: '',
    output: '',
    id: 'a',
    tags: [],
    expectedTools: undefined,
    expectedWaits: undefined,
    signal: new AbortController().signal,
    host: HOST,
    run: {
      agent: 'a',
      status: 'completed',
      tools: [],
      waits: [],
      durationMs: 0,
      inputTokens: 0,
      outputTokens: 0,
      cost: 0,
      isPlayed: false,
      ...run,
    },
    ...rest,
  }
}
