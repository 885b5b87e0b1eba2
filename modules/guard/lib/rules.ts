import { type Static, Type } from 'agent-host'
import { DETECTORS } from './detectors.ts'

/** Rules of a guard and its action: the config of `guard/input` and `guard/output`. */
export const Rules = Type.Object({
  action: Type.Union([Type.Literal('block'), Type.Literal('redact'), Type.Literal('ask')], {
    default: 'block',
    description:
      'Action on a text that breaks a rule. block: sends `reply` instead. redact: replaces each match. ask: a person decides.',
  }),
  detect: Type.Array(Type.Enum(Object.keys(DETECTORS) as (keyof typeof DETECTORS)[]), {
    default: [],
    description:
      'Kinds of data to find: card_number (with a valid check digit), email, secret (values of secret variables of the environment).',
  }),
  patterns: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'Regular expressions to find, ignoring case.',
  }),
  schema: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'JSON Schema that the text, parsed as JSON, must match.',
    }),
  ),
  judge: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Rule in plain words for a model to judge. The text breaks it unless the model clearly says no.',
    }),
  ),
  reply: Type.String({
    default: 'I cannot help with that.',
    description: 'Reply instead of a blocked or rejected text.',
  }),
  replacement: Type.String({ default: '[redacted]', description: 'Replacement for each match.' }),
})
export type Rules = Static<typeof Rules>
