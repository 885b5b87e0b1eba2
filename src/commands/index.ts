import { ApprovalsAnswer, ApprovalsApprove, ApprovalsEdit, ApprovalsReject } from './approvals/decide.ts'
import Approvals from './approvals.ts'
import Chat from './chat.ts'
import Check from './check.ts'
import Completion from './completion.ts'
import Dev from './dev.ts'
import Docs from './docs.ts'
import Doctor from './doctor.ts'
import EjectDiff from './eject/diff.ts'
import EjectList from './eject/list.ts'
import EjectUpgrade from './eject/upgrade.ts'
import Eject from './eject.ts'
import EvalCompare from './eval/compare.ts'
import Eval from './eval.ts'
import Init from './init.ts'
import KeysAdd from './keys/add.ts'
import KeysList from './keys/list.ts'
import KeysRevoke from './keys/revoke.ts'
import McpLogin from './mcp/login.ts'
import Mcp from './mcp.ts'
import Memory from './memory.ts'
import New from './new.ts'
import Replay from './replay.ts'
import Run from './run.ts'
import RunsExport from './runs/export.ts'
import RunsSave from './runs/save.ts'
import RunsShow from './runs/show.ts'
import RunsTail from './runs/tail.ts'
import Runs from './runs.ts'
import SchedulesRun from './schedules/run.ts'
import Schedules from './schedules.ts'
import Schema from './schema.ts'
import Serve from './serve.ts'
import StoreBackup from './store/backup.ts'
import StoreCheck from './store/check.ts'
import StoreCopy from './store/copy.ts'
import StoreForget from './store/forget.ts'
import StoreMigrate from './store/migrate.ts'
import StoreRestore from './store/restore.ts'
import Test from './test.ts'
import Tool from './tool.ts'
import WebhooksList from './webhooks/list.ts'
import WebhooksRetry from './webhooks/retry.ts'
import WebhooksTest from './webhooks/test.ts'
import Worker from './worker.ts'

/** By the words that call them, with a colon between. */
export const COMMANDS = {
  init: Init,
  dev: Dev,
  chat: Chat,
  serve: Serve,
  worker: Worker,
  mcp: Mcp,
  'mcp:login': McpLogin,
  check: Check,
  new: New,
  schema: Schema,
  run: Run,
  tool: Tool,
  memory: Memory,
  doctor: Doctor,
  docs: Docs,
  completion: Completion,
  test: Test,
  eject: Eject,
  'eject:list': EjectList,
  'eject:diff': EjectDiff,
  'eject:upgrade': EjectUpgrade,
  approvals: Approvals,
  'approvals:approve': ApprovalsApprove,
  'approvals:reject': ApprovalsReject,
  'approvals:edit': ApprovalsEdit,
  'approvals:answer': ApprovalsAnswer,
  runs: Runs,
  'runs:show': RunsShow,
  'runs:save': RunsSave,
  'runs:export': RunsExport,
  'runs:tail': RunsTail,
  replay: Replay,
  eval: Eval,
  'eval:compare': EvalCompare,
  schedules: Schedules,
  'schedules:run': SchedulesRun,
  'webhooks:list': WebhooksList,
  'webhooks:test': WebhooksTest,
  'webhooks:retry': WebhooksRetry,
  'keys:add': KeysAdd,
  'keys:list': KeysList,
  'keys:revoke': KeysRevoke,
  'store:check': StoreCheck,
  'store:backup': StoreBackup,
  'store:restore': StoreRestore,
  'store:copy': StoreCopy,
  'store:migrate': StoreMigrate,
  'store:forget': StoreForget,
}
