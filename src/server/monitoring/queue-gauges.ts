import type { RunService } from '../../durable/run-service.ts'
import type { GaugeSpec } from '../../telemetry/add-gauge.ts'

/** Metrics of the queue of background runs. */
export function queueGauges(runs: RunService): readonly GaugeSpec[] {
  return [
    {
      name: 'agent_host_queue_depth',
      help: 'Background responses that wait, of all servers that share the store.',
      read: () => runs.opened.queue.size(),
    },
    {
      name: 'agent_host_queue_oldest_seconds',
      help: 'Time for which the oldest of them has waited; 0 when none does.',
      read: () => runs.opened.queue.oldestSeconds(),
    },
  ]
}
