import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Reports the address of this server to its parent, and its resource usage on request. */
export function report(url) {
  const loop = monitorEventLoopDelay({ resolution: 5 })
  loop.enable()
  process.on('message', (question) => {
    if (question !== 'used') return
    const { user, system } = process.cpuUsage()
    const { rss } = process.memoryUsage()
    const loopP99Ms = loop.percentile(99) / 1e6
    process.send({
      cpuMicros: user + system,
      kernelMicros: system,
      rssBytes: rss,
      maxRssBytes: process.resourceUsage().maxRSS * 1024,
      loopP99Ms,
    })
    loop.reset()
  })
  process.on('disconnect', () => process.exit())
  process.send({ url })
}
