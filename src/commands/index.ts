import Check from './check.ts'
import Dev from './dev.ts'
import Init from './init.ts'
import Mcp from './mcp.ts'
import New from './new.ts'
import Runs from './runs/runs.ts'
import RunsShow from './runs/show.ts'
import RunsTail from './runs/tail.ts'
import Schema from './schema.ts'
import Serve from './serve.ts'
import Test from './test.ts'

/** By the words that call them. */
export const COMMANDS = {
  init: Init,
  dev: Dev,
  serve: Serve,
  mcp: Mcp,
  check: Check,
  new: New,
  schema: Schema,
  test: Test,
  runs: Runs,
  'runs:show': RunsShow,
  'runs:tail': RunsTail,
}
