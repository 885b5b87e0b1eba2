import type { SpanExporter } from '@opentelemetry/sdk-trace-node'
import { systemCodeOf } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import type { Log } from '../protocols/log.ts'

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0]

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SUCCESS = 0
/** Status of HTTP, which is the code of the error. */
const UNSUPPORTED_MEDIA_TYPE = 415

/** The exporter, which says once when spans cannot be sent, and once when they can again: not with every batch. */
export function reportFailures(exporter: SpanExporter, endpoint: string, log: Log): SpanExporter {
  let isFailing = false
  const report = ({ code, error }: Result): void => {
    const fails = code !== SUCCESS
    if (fails && !isFailing)
      log.warn(`Spans cannot be sent to ${endpoint}: ${reasonOf(error)}. Agents are not affected.`)
    if (!fails && isFailing) log.info(`Spans are sent to ${endpoint} again.`)
    isFailing = fails
  }
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        report(result)
        done(result)
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}

/** A name with several addresses fails with an error without message. */
function reasonOf(error: Result['error']): string {
  const reason = error?.message || (systemCodeOf(error) ?? 'no reason was given')
  const isWrongEncoding = fieldsOf(error).code === UNSUPPORTED_MEDIA_TYPE
  return isWrongEncoding ? `${reason}. It takes another OTEL_EXPORTER_OTLP_PROTOCOL` : reason
}
