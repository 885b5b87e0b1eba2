import { type TSchema, Type } from 'typebox'

/** Any object. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown())

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

/** Field that may be left out, or null: clients send `null` for fields they leave out. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(nullable(schema))
}
