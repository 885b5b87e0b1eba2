import { type Static, Type } from 'agent-host'
import { DETECTORS } from './detectors.ts'

/** Rules of a guard and what happens to a text that breaks one: the config of `guard/input` and `guard/output`. */
export const Rules = Type.Object({
  action: Type.Union([Type.Literal('block'), Type.Literal('redact'), Type.Literal('ask')], {
    default: 'block',
    description:
      'Happens to a text that breaks a rule. block: `reply` is sent instead. redact: the finding is replaced. ask: a person decides.',
  }),
  detect: Type.Array(Type.Enum(Object.keys(DETECTORS) as (keyof typeof DETECTORS)[]), {
    default: [],
    description:
      'Kinds of data to find: card_number (with a valid check digit), email, secret (values of secret variables of the environment).',
  }),
  patterns: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'Regular expressions to find; upper and lower case are the same.',
  }),
  schema: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema that the text must fit, as JSON.' }),
  ),
  judge: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Rule in words, judged by a model: the text breaks it unless the model clearly says no.',
    }),
  ),
  reply: Type.String({
    default: 'I cannot help with that.',
    description: 'Sent in place of a blocked or rejected text.',
  }),
  replacement: Type.String({ default: '[redacted]', description: 'Takes the place of what is redacted.' }),
})
export type Rules = Static<typeof Rules>
