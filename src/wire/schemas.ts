import { type TLiteral, type TProperties, type TSchema, type TUnion, Type } from 'typebox'

/** Any object. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown())

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

/** Field that may be left out, or null: clients send `null` for fields they leave out. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(nullable(schema))
}

export const Text = Type.String()
/** Longest name of a user. Traces cannot tell longer ones apart, so the data of such a user could not be deleted. */
export const MAX_USER_CHARS = 300
export const UserName = Type.String({ maxLength: MAX_USER_CHARS })
export const Integer = Type.Integer()
export const Flag = Type.Boolean()

/** One of several texts. */
export function oneOf<const Values extends readonly string[]>(...values: Values) {
  const literals = values.map((value) => Type.Literal(value))
  return Type.Union(literals) as unknown as TUnion<{ -readonly [Index in keyof Values]: TLiteral<Values[Index]> }>
}

/** An object whose field `type` says what else it has. */
export function ofType<const Name extends string, Fields extends TProperties>(type: Name, fields: Fields) {
  return Type.Object({ type: Type.Literal(type), ...fields })
}
