import type { TracedChange, VariantChange } from '../../../src/wire/variant.ts'
import type { Column } from '../responses/column.ts'
import type { Seed } from '../responses/setup.ts'
import type { AgentChoice, CalledAgent, Variable } from './play-query.ts'

/** A value of an agent, with the module that it belongs to. */
export interface AgentVariable extends Variable {
  /** Id of a called agent; undefined for a value of the agent itself. */
  readonly agent?: string
  readonly module: string
}

/** @param called agents that it calls: their values follow */
export function variablesOf({ modules }: AgentChoice, called: readonly CalledAgent[] = []): readonly AgentVariable[] {
  const own = modules.flatMap(({ id, variables }) => variables.map((variable) => ({ ...variable, module: id })))
  const others = called.flatMap(({ id: agent, modules: inner }) =>
    inner.flatMap(({ id, variables }) => variables.map((variable) => ({ ...variable, agent, module: id }))),
  )
  return [...own, ...others]
}

export function isOf({ agent, module, path }: Omit<VariantChange, 'value'>, variable: AgentVariable): boolean {
  return agent === variable.agent && module === variable.module && path.join('\n') === variable.path.join('\n')
}

export function changeOf({ changes = [] }: Column, variable: AgentVariable): VariantChange | undefined {
  return changes.find((change) => isOf(change, variable))
}

/** Sets a value; one that the agent has anyway is no change. */
export function withValue(column: Column, variable: AgentVariable, value: unknown, version: string): Column {
  const others = (column.changes ?? []).filter((change) => !isOf(change, variable))
  const { agent, module, path, value: before } = variable
  const place = { ...(agent === undefined ? {} : { agent }), module, path: [...path], before }
  const change: TracedChange = { ...place, ...(value === undefined ? {} : { value }) }
  return withChanges(column, isSame(change, variable) ? others : [...others, change], version)
}

function isSame({ value }: TracedChange, variable: AgentVariable): boolean {
  return JSON.stringify(value ?? null) === JSON.stringify(variable.value)
}

/** The column without changes that its agents have by now: they were written into the files. The others know the values of before. */
export function settle(column: Column, variables: readonly AgentVariable[]): Column {
  const { changes = [], version = '' } = column
  const left = changes.flatMap((change) => {
    const variable = variables.find((each) => isOf(change, each))
    if (variable && isSame(change, variable)) return []
    return change.before === undefined && variable ? { ...change, before: variable.value } : change
  })
  const isSettled = left.length === changes.length && left.every((change, index) => change === changes[index])
  return isSettled ? column : withChanges(column, left, version)
}

/** @param version of the agent that the changes are meant for */
export function withChanges(column: Column, changes: readonly TracedChange[], version: string): Column {
  const { changes: _changes, version: earlier = version, ...rest } = column
  return changes.length === 0 ? rest : { ...rest, changes, version: earlier }
}

/** The agent as a model call met it: its system prompt, where the agent has another one by now. */
export function withSeed(column: Column, { system }: Seed, agent: AgentChoice): Column {
  const prompts = variablesOf(agent).filter(({ path }) => path.at(-1) === 'system_prompt')
  const texts = prompts.map((prompt) => String(changeOf(column, prompt)?.value ?? prompt.value ?? ''))
  const isKnown = system === '' || texts.some((text) => text !== '' && system.startsWith(text))
  const [prompt] = prompts
  return isKnown || !prompt ? column : withValue(column, prompt, system, agent.version)
}
