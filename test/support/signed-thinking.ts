import type { ServerResponse } from 'node:http'
import type { Answer } from './fake-model-server.ts'
import { anthropicWire, geminiWire } from './model-wires.ts'

/** Number of calls before the answer. */
export const ROUNDS = 8

/** Anthropic, which refuses the steps of a turn without the signatures that their answers had. It calls `step`, then says that it is done. */
export const signedAnthropic: Answer = (response, { body }) => {
  const messages = body.messages as { role: string; content: { type: string; signature?: string }[] }[]
  const steps = messages.filter(({ role }) => role === 'assistant')
  const isSigned = steps.every(
    ({ content: [first] }, index) => first?.type === 'thinking' && first.signature === `signed-${index}`,
  )
  if (!isSigned) return refuse(response)
  const script = steps.length < ROUNDS ? { calls: [callOf(steps.length)] } : { text: ['Done.'] }
  reply(response, anthropicWire.answer({ reasoning: ['Let me', ' see.'], ...script }), steps.length)
}

/** Google, which refuses calls without their signatures. */
export const signedGoogle: Answer = (response, { body }) => {
  const contents = body.contents as { role: string; parts: { functionCall?: object; thoughtSignature?: string }[] }[]
  const calls = contents.flatMap(({ parts }) => parts).filter(({ functionCall }) => functionCall)
  if (calls.some(({ thoughtSignature }, index) => thoughtSignature !== `signed-${index}`)) return refuse(response)
  const script = calls.length < ROUNDS ? { calls: [callOf(calls.length)] } : { text: ['Done.'] }
  reply(response, geminiWire.answer(script), calls.length)
}

function callOf(round: number) {
  return { id: `call_${round}`, name: 'step', json: ['{}'] }
}

function reply(response: ServerResponse, pieces: readonly (string | Uint8Array)[], round: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of pieces) response.write(String(piece).replace('"signed"', `"signed-${round}"`))
  response.end()
}

function refuse(response: ServerResponse): void {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify(anthropicWire.refusal('thinking without its signature')))
}
