import type { Call } from '../../../../src/trace/calls/call-tree.ts'
import { JsonTree } from '../../components/json-tree.tsx'
import { Notice } from '../../components/notice.tsx'
import { parseJson } from '../../components/parse-json.ts'
import { Pictures } from '../../components/pictures.tsx'
import type { CallPayload } from '../call-payload.ts'
import { AnyCall } from './any-call.tsx'

interface ToolResult {
  readonly text?: unknown
  readonly data?: unknown
  readonly attachments?: unknown
  readonly isError?: unknown
  readonly isRejected?: unknown
}

/** Arguments and result of a tool: text as text, pictures as pictures, values as trees. */
export function ToolCall({ call, payload }: { call: Pick<Call, 'status'>; payload: CallPayload }) {
  const [name, args] = payload.args
  if (typeof name !== 'string') return <AnyCall payload={payload} />
  const result = payload.result as ToolResult | undefined
  return (
    <>
      <h3>Arguments</h3>
      <JsonTree value={args ?? {}} label="arguments" />
      {result && call.status !== 'waiting' && <Result result={result} />}
    </>
  )
}

function Result({ result: { text, data, attachments, isError, isRejected } }: { result: ToolResult }) {
  return (
    <>
      <h3>Result</h3>
      {isRejected === true && <Notice kind="info" title="It was not allowed, and was not executed." />}
      {isError === true && isRejected !== true && (
        <Notice kind="warn" title="The tool reports an error to the model." />
      )}
      {data !== undefined ? (
        <JsonTree value={data} label="result" />
      ) : (
        <JsonTree value={parseJson(text)} label="result" />
      )}
      <Pictures attachments={attachments} />
    </>
  )
}
