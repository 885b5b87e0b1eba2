import { JsonTree } from '../../components/json-tree.tsx'
import type { CallPayload } from '../call-payload.ts'

/** Arguments and result of any call, as trees. */
export function AnyCall({ payload: { args, result } }: { payload: CallPayload }) {
  return (
    <>
      <h3>Arguments</h3>
      <JsonTree value={args.length === 1 ? args[0] : args} label="arguments" />
      {result !== undefined && (
        <>
          <h3>Result</h3>
          <JsonTree value={result} label="result" />
        </>
      )}
    </>
  )
}
