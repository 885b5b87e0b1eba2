/** https://www.w3.org/TR/trace-context/#traceparent-header; later versions may add fields. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\w-]{0,64})?$/

/** Returns the trace context that a client sent; one that is invalid counts as none. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined
}
