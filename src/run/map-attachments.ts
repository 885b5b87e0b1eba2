/** Message, or result of a tool, whose attachments have another form. */
export type WithAttachments<Value, Form> = Value extends { readonly attachments?: readonly unknown[] }
  ? Omit<Value, 'attachments'> & { readonly attachments?: readonly Form[] }
  : Value

/** Returns a message, or the result of a tool, with its attachments in another form: the only place in which they change. */
export function mapAttachments<Value extends object, From, To>(
  value: Value & { readonly attachments?: readonly From[] },
  convert: (attachment: From) => To,
): WithAttachments<Value, To> {
  const { attachments } = value
  return (attachments ? { ...value, attachments: attachments.map(convert) } : value) as WithAttachments<Value, To>
}
