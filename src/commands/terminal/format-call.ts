import { cleanToDecide } from '../../wire/clean-text.ts'
import { oneLine } from './one-line.ts'

/** Returns a call as a person reads it before deciding: its arguments as they are, with their spaces. */
export function formatCall(name: string, args: unknown): string {
  return `${oneLine(name)}(${cleanToDecide(JSON.stringify(args) ?? '')})`
}
