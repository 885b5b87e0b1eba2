import { Type } from 'typebox'
import { nullable, Text } from '../../wire/schemas.ts'

/** Error under `/compat`, and of every route that has no dialect. */
export const CompatError = Type.Object({ detail: Text })

/** Error under `/v1`. */
export const VendorError = Type.Object({
  error: Type.Object({
    message: Text,
    type: Text,
    /** The field that is wrong, `messages[2].role`. */
    param: nullable(Text),
    code: nullable(Text),
  }),
  detail: Text,
})
