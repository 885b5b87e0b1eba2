import { Type } from 'typebox'
import { nullable } from '../../wire/schemas.ts'

/** Error under `/compat`, and of every route that has no dialect. */
export const CompatError = Type.Object({ detail: Type.String() })

/** Error under `/v1`. */
export const VendorError = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    /** The field that is wrong, `messages[2].role`. */
    param: nullable(Type.String()),
    code: nullable(Type.String()),
  }),
  detail: Type.String(),
})
