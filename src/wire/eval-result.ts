import { type Static, Type } from 'typebox'
import { AnyObject, Integer, nullable, Text } from './schemas.ts'
import { VariantChange } from './variant.ts'

/** Version of the format of result files. It grows when an older reader would misread one. */
export const EVAL_RESULT_FORMAT = 1

/** Score from which on a case passes. */
export const PASS_SCORE = 0.5

/** Call of a tool, as rows expect it and results have it. */
export const EvalToolCall = Type.Object({
  name: Text,
  arguments: Type.Optional(AnyObject),
})
export type EvalToolCall = Static<typeof EvalToolCall>

/** Case of a result: its row. */
export const EvalResultCase = Type.Object({
  id: Text,
  file: Type.String({ description: 'Relative to the project.' }),
  line: Integer,
  input: Type.Unknown(),
  expected: Type.Optional(Type.Unknown()),
  expected_tools: Type.Optional(Type.Array(EvalToolCall)),
  expected_waits: Type.Optional(Type.Array(EvalToolCall)),
  tags: Type.Array(Text),
  tape: nullable(Type.String({ description: 'Relative to the project.' })),
  digest: Type.String({ description: 'Differs where the row does.' }),
})
export type EvalResultCase = Static<typeof EvalResultCase>

/** Score that a scorer gave to a run. */
export const EvalScore = Type.Object({
  name: Type.String({ description: 'Name of the export, or of the built-in scorer.' }),
  score: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: 'Null where the scorer does not judge the case.' }),
  ),
  error: Type.Optional(Type.String({ description: 'Why there is no score. It counts as 0.' })),
  metadata: Type.Optional(AnyObject),
})
export type EvalScore = Static<typeof EvalScore>

/** Run of a case. */
export const EvalRun = Type.Object({
  case: Text,
  column: Type.Integer({ description: 'Index among the columns.' }),
  repeat: Type.Integer({ description: 'From 1 on.' }),
  run_id: nullable(Type.String({ description: 'Null where it did not begin.' })),
  status: Type.Enum(['completed', 'waiting', 'failed', 'cancelled', 'not_run'], { type: 'string' }),
  output: Text,
  error: nullable(Text),
  tools: Type.Array(EvalToolCall),
  waits: Type.Optional(Type.Array(EvalToolCall, { description: 'Calls that it waits for at its end.' })),
  is_played: Type.Boolean({ description: 'True where the model answered from a tape.' }),
  duration_ms: Type.Number(),
  input_tokens: Integer,
  output_tokens: Integer,
  cost: nullable(Type.Number({ description: 'US dollars; null where the price of a model is unknown.' })),
  scores: Type.Array(EvalScore),
  score: nullable(
    Type.Number({ description: 'Mean of the scores; 0 for a run that failed; null where nothing judges it.' }),
  ),
})
export type EvalRun = Static<typeof EvalRun>

/** Agent, or variant of one, that the cases were run with. */
export const EvalColumn = Type.Object({
  name: Type.String({ description: 'Agent, and what the variant changes.' }),
  agent: Text,
  version: nullable(Type.String({ description: 'Of the agent; null where it was not opened.' })),
  changes: Type.Array(VariantChange),
})
export type EvalColumn = Static<typeof EvalColumn>

/** Row, agent or scorer that was left out, and why. */
export const EvalProblem = Type.Object({
  where: Type.String({ description: 'File and line, agent, or scorer.' }),
  message: Text,
})
export type EvalProblem = Static<typeof EvalProblem>

/** Choices of the caller of `eval`: `--resume` goes on with them. */
export const EvalRequest = Type.Object({
  files: Type.Array(Text),
  agents: Type.Array(Text),
  variants: Type.Array(Type.Array(VariantChange)),
  repeat: Integer,
  filter: Type.Array(Text),
  only: Type.Optional(Type.Array(Text, { description: 'Ids of the cases, where those that failed before run alone.' })),
  live: Type.Array(Text),
})
export type EvalRequest = Static<typeof EvalRequest>

/** A result file, `evals/results/<time>-<name>.json`. */
export const EvalResult = Type.Object({
  eval_result: Type.Literal(EVAL_RESULT_FORMAT),
  agent_host: Type.String({ description: 'Version.' }),
  name: Text,
  status: Type.Enum(['running', 'stopped', 'complete'], { type: 'string' }),
  process: Type.Optional(Type.String({ description: 'Process that fills it, while it is running.' })),
  created_at: Type.Number({ description: 'Unix seconds.' }),
  duration_ms: Type.Number(),
  spent: Type.Number({ description: 'US dollars that models and judges cost, as far as their prices are known.' }),
  request: EvalRequest,
  columns: Type.Array(EvalColumn),
  cases: Type.Array(EvalResultCase),
  runs: Type.Array(EvalRun),
  problems: Type.Array(EvalProblem),
})
export type EvalResult = Static<typeof EvalResult>
