import { type Static, Type } from 'typebox'

/** Parameters of every listing. */
const ANY_PAGE = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Enum(['asc', 'desc'], { type: 'string', default: 'desc' }),
  after: Type.Optional(Type.String({ description: 'Id of the item that the page begins behind.' })),
}

/** Query of a listing. */
export const PageQuery = Type.Object(ANY_PAGE)
export type PageQuery = Static<typeof PageQuery>

/** Query of the listing of input items. */
export const ItemsQuery = Type.Object({
  ...ANY_PAGE,
  before: Type.Optional(Type.String({ description: 'Id of the item that the page ends ahead of.' })),
  include: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
})
export type ItemsQuery = Static<typeof ItemsQuery>
