import { defineTool, Type } from 'agent-host'

interface Order {
  readonly number: string
  readonly status: 'packed' | 'shipped' | 'delivered'
  readonly items: readonly string[]
}

/** Replace it by a request to your own system. */
const ORDERS: readonly Order[] = [
  { number: 'A-1001', status: 'delivered', items: ['Desk lamp'] },
  { number: 'A-1002', status: 'shipped', items: ['Notebook', 'Pencils'] },
  { number: 'A-1003', status: 'packed', items: ['Office chair'] },
]

export const findOrder = defineTool({
  description: 'Finds an order of the shop by its number, with its status and items.',
  parameters: Type.Object({
    number: Type.String({ description: 'Number of the order, such as A-1002.', examples: ['A-1002'] }),
  }),
  execute({ number }) {
    const order = ORDERS.find((each) => number.toUpperCase().includes(each.number))
    // The model reads the message, and can ask the user.
    if (!order) throw new Error(`There is no order ${number}. Known: ${ORDERS.map((each) => each.number).join(', ')}`)
    return order
  },
})

export const listOrders = defineTool({
  description: 'Lists all orders that have a certain status.',
  parameters: Type.Object({
    status: Type.Enum(['packed', 'shipped', 'delivered'], { description: 'Status to look for.' }),
  }),
  execute({ status }) {
    return ORDERS.filter((order) => order.status === status)
  },
})
