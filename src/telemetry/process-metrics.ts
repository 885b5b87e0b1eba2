import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from 'prom-client'
import { addGauge } from './add-gauge.ts'

/** Sampling interval of the event loop. The measured delay includes it, so it is subtracted. */
const RESOLUTION_MS = 10

/**
 * Adds metrics of the process, under the names that dashboards know. Not `collectDefaultMetrics`: its observers cannot
 * be stopped.
 *
 * @returns the event loop's delay, to be switched on and off
 */
export function addProcessMetrics(prometheus: typeof import('prom-client'), registry: Registry): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const gauge: AddGauge = (name, help, read) => addGauge(prometheus, registry, { name, help, read })
  addMemory(gauge)
  addEventLoop(gauge, delay)
  const cpu = new prometheus.Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the process.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage()
      cpu.reset()
      cpu.inc((user + system) / 1e6)
    },
  })
  return delay
}

type AddGauge = (name: string, help: string, read: () => number) => void

function addMemory(gauge: AddGauge): void {
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', () => process.memoryUsage().heapTotal)
  gauge('nodejs_heap_size_used_bytes', 'Used heap.', () => process.memoryUsage().heapUsed)
  gauge('nodejs_external_memory_bytes', 'Memory outside of the heap.', () => process.memoryUsage().external)
  gauge('process_start_time_seconds', 'Start of the process, in Unix time.', () => performance.timeOrigin / 1000)
}

function addEventLoop(gauge: AddGauge, delay: IntervalHistogram): void {
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000) || 0
  const help = (what: string) => `How late the event loop is, since the last look: ${what}.`
  gauge('nodejs_eventloop_lag_mean_seconds', help('mean'), () => seconds(delay.mean))
  gauge('nodejs_eventloop_lag_p99_seconds', help('99th percentile'), () => seconds(delay.percentile(99)))
  gauge('nodejs_eventloop_lag_max_seconds', help('maximum'), () => {
    const max = seconds(delay.max)
    // Collected last: the next look begins here.
    delay.reset()
    return max
  })
}
