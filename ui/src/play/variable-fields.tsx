import { Fragment } from 'preact'
import type { VariantProblem } from '../../../src/wire/variant.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import type { Column } from '../responses/column.ts'
import { type AgentVariable, changeOf, withValue } from './changes.ts'
import { VariableField } from './variable-field.tsx'

interface VariableFieldsProps {
  readonly variables: readonly AgentVariable[]
  /** Column that holds the changes. */
  readonly column: Column
  /** Version of the agent whose values these are. */
  readonly version: string
  readonly problems: readonly VariantProblem[]
  readonly onColumn: (column: Column) => void
  readonly onSubmit: () => void
}

/** Form of an agent's values, each with the problem of its change. The first field takes the focus. */
export function VariableFields({ variables, column, version, problems, onColumn, onSubmit }: VariableFieldsProps) {
  const agents = [...new Set(variables.map(({ agent }) => agent))]
  const rankOf = (variable: AgentVariable) => agents.indexOf(variable.agent) * 10 + rankOfValue(variable)
  const fields = variables.filter(hasField).toSorted((one, other) => rankOf(one) - rankOf(other))
  if (fields.length === 0) return <p class="muted">The modules of this agent have no values to change here.</p>
  const others = problems.filter((problem) => !fields.some((variable) => isAbout(problem, variable)))
  return (
    <div class="variables">
      {others.map(({ message }) => (
        <Notice key={message} kind="bad" title={message} />
      ))}
      {fields.map((variable, index) => {
        const change = changeOf(column, variable)
        const { agent, module, path } = variable
        return (
          <Fragment key={`${agent} ${module} ${path.join('.')}`}>
            {agent !== undefined && agent !== fields[index - 1]?.agent && (
              <h3 class="variables-agent">
                <Icon name="kind-agent" /> {agent}
              </h3>
            )}
            <VariableField
              variable={variable}
              value={change ? change.value : (variable.value ?? undefined)}
              isChanged={change !== undefined}
              problem={problems.find((problem) => isAbout(problem, variable))}
              hasFocus={index === 0}
              onValue={(value) => onColumn(withValue(column, variable, value, version))}
              onSubmit={onSubmit}
            />
          </Fragment>
        )
      })}
    </div>
  )
}

/** Values that developers change most, in the order of the form. */
const FIRST = ['system_prompt', 'model', 'temperature']

function rankOfValue({ path }: AgentVariable): number {
  return FIRST.indexOf(String(path.at(-1))) + 1 || FIRST.length + 1
}

/** Tells whether a value has a field: lists and mappings are changed as text. */
function hasField({ schema }: AgentVariable): boolean {
  return schema.enum !== undefined || ['string', 'number', 'integer', 'boolean'].includes(String(schema.type))
}

function isAbout({ agent, module, path }: VariantProblem, variable: AgentVariable): boolean {
  return agent === variable.agent && module === variable.module && path?.join() === variable.path.join()
}
