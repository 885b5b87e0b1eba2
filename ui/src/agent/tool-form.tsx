import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { JsonTree } from '../components/json-tree.tsx'
import { Notice } from '../components/notice.tsx'
import { readFields, type Schema, SchemaFields, type Texts } from '../components/schema-fields.tsx'
import { href } from '../router.ts'

const CALL = `mutation($agent: String!, $module: String!, $name: String!, $args: JSON!) {
  call_tool(agent_id: $agent, module_id: $module, name: $name, arguments: $args) { run_id result error }
}`

interface Outcome {
  readonly run_id: string
  readonly result: unknown
  readonly error: string | null
}

interface ToolFormProps {
  readonly agentId: string
  readonly moduleId: string
  readonly name: string
  readonly parameters: unknown
}

/** Form of a tool's arguments, from its schema: it calls that tool alone, as a run of its own. */
export function ToolForm({ agentId, moduleId, name, parameters }: ToolFormProps) {
  const schema = (parameters ?? {}) as Schema
  const [texts, setTexts] = useState<Texts>({})
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState('')
  const call = async () => {
    setError('')
    try {
      const args = readFields(schema, texts)
      const variables = { agent: agentId, module: moduleId, name, args }
      setOutcome((await ask<{ call_tool: Outcome }>(CALL, variables)).call_tool)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <div class="tool-form">
      <SchemaFields schema={schema} texts={texts} onTexts={setTexts} />
      <button type="button" class="button" onClick={call}>
        Call {name}
      </button>
      {error && <Notice kind="bad" title={error} />}
      {outcome && (
        <>
          {outcome.error === null ? (
            <JsonTree value={outcome.result} label="result" />
          ) : (
            <Notice kind="bad" title={outcome.error} />
          )}
          <a href={href(['runs', outcome.run_id])}>View the run</a>
        </>
      )}
    </div>
  )
}
