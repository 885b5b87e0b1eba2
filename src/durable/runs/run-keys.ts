/** Prefix of the rows of runs. */
export const RUNS = 'response:'
/** Prefix of the marks of runs in progress. */
export const RUNNING = 'running:'
/** Prefix of the marks of runs that wait for a worker. A run has one mark at most. */
export const QUEUED = 'queued:'

/** Prefix of the marks of runs of programs that wait for a tool of the program alone. */
export const WAITING = 'waiting:'

/** Topic of workers. */
export const QUEUE_TOPIC = 'queue'

/** Topic of those who keep something of runs beside the store. */
export const RUNS_DELETED = 'runs-deleted'

export function rowKey(id: string): string {
  return RUNS + id
}

export function runningKey(id: string): string {
  return RUNNING + id
}

export function queuedKey(id: string): string {
  return QUEUED + id
}

/** Key of the mark by which one run alone continues another that waits for its client. */
export function continuedKey(id: string): string {
  return `continued:${id}`
}

/** Key by which a run of a program is found that waits for a tool of the program alone. */
export function waitingKey(id: string): string {
  return WAITING + id
}

/** Key of the stamp of an agent that a server has, of all tenants. */
export function servedAgentKey(agent: string): string {
  return `served-agent:${encodeURIComponent(agent)}`
}

export function itemsKey(id: string, row: number): string {
  return itemsPrefix(id) + row
}

export function itemsPrefix(id: string): string {
  return `items:${id}:`
}

export function stepsLog(id: string): string {
  return `steps:${id}`
}

/** Topic of those who read a run. */
export function changeTopic(id: string): string {
  return `run:${id}`
}

/** Topic of the server that runs it. */
export function outcomeTopic(id: string): string {
  return `outcome:${id}`
}

export function topicsOf(id: string): string[] {
  return [changeTopic(id), outcomeTopic(id)]
}
