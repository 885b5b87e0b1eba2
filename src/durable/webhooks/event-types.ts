/** Events that webhooks receive: those of runs as OpenAI names them, and two of ours. */
export const EVENT_TYPES = [
  'response.completed',
  'response.failed',
  'response.cancelled',
  'response.incomplete',
  'response.waiting',
  'approval.decided',
] as const

export type EventType = (typeof EVENT_TYPES)[number]
