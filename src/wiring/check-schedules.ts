import type { DefinitionSource, Schedule, ToolMetadata } from '../definition/definition.ts'
import { type FindDue, loadFindDue } from '../definition/due-times.ts'
import { findFirstProblem } from '../definition/first-problem.ts'
import type { Problem } from '../definition/problem.ts'
import { messageOf } from '../errors.ts'

/** Returns the problems of an agent's schedules: times that never come, and fields that exclude each other. */
export async function findScheduleProblems({ definition, problemAt }: DefinitionSource): Promise<Problem[]> {
  const { schedules = [], toolMetadata } = definition
  const findDue = await loadFindDue()
  return schedules.flatMap((schedule, index) => {
    const found = findTimeProblem(schedule, findDue) ?? findInputProblem(schedule, toolMetadata)
    if (!found) return []
    const [field, message, advice] = found
    return problemAt(['schedules', index, field], `schedule '${schedule.id}': ${message}`, [advice])
  })
}

type Found = readonly [field: string, message: string, advice: string]

function findTimeProblem({ cron, every, timezone }: Schedule, findDue: FindDue): Found | undefined {
  if ((cron === undefined) === (every === undefined))
    return ['cron', "it needs either 'cron' or 'every'.", "Write cron: '0 8 * * 1-5', or every: 15m."]
  if (timezone !== undefined && !isTimezone(timezone))
    return ['timezone', `there is no time zone '${timezone}'.`, 'Write a name of the IANA database: Europe/Berlin.']
  if (every !== undefined && timezone !== undefined)
    return ['timezone', "'every' has no time zone: it counts from the Unix epoch.", 'Leave timezone out.']
  try {
    if (findDue({ cron, every, timezone }, Date.now()) !== undefined) return undefined
    return ['cron', `'${cron}' never matches: there is no such date.`, 'Check the day and the month.']
  } catch (error) {
    const message = `'${cron}' is no cron expression: ${messageOf(error).replace(/^CronPattern: /, '')}`
    return [
      'cron',
      message,
      "Write five fields: minute, hour, day of the month, month, day of the week: '0 8 * * 1-5'.",
    ]
  }
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function findInputProblem({ input }: Schedule, { input: schema }: ToolMetadata): Found | undefined {
  if (schema) {
    const problem = findFirstProblem(schema, input)
    return problem && ['input', `input: ${problem.message}`, 'See the input schema of the agent.']
  }
  if (typeof input === 'string') return undefined
  return ['input', 'the agent has no input schema, so its input is a text.', 'Write the message as a text.']
}
