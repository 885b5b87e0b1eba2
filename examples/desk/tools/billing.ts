import { defineTool, Type } from 'agent-host'

const number = Type.String({ description: 'Number of the invoice, such as INV-7' })

export const refund = defineTool({
  description: 'Pays money back for an invoice.',
  parameters: Type.Object({ number, euros: Type.Number({ minimum: 0 }) }),
  needsApproval: true,
  execute: ({ number, euros }) => `Refunded ${euros} euros for ${number}.`,
})

/** A sheet with lines stands for the picture of a receipt. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAIAAABt+uBvAAAAqElEQVR42u3XMQ0AIAxFweqqCazjqDhg6NABjnwFl9DkRa5tlwUCQIAAAQIECBAgAwQIECBAgP4EqhcfoEEgX8wAAQIECBAgQIBMamgxLeYGAQIECJABAgQIkBbTYlrMFwNkgAABAgQIECBAUgOQFnODAAECBAiQAQIESItpMS3mBgECZIAAAQIECJAWkxqAfDE3CBAgQIAAATJAgAABAgQIECBABqi7A5LV/OwAD/+ZAAAAAElFTkSuQmCC'

export const receipt = defineTool({
  description: 'Returns the receipt of an invoice as a picture.',
  parameters: Type.Object({ number }),
  execute: ({ number }) => ({
    text: `Receipt of ${number}.`,
    attachments: [{ mediaType: 'image/png', data: Buffer.from(PICTURE, 'base64') }],
  }),
})
