import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Tells the parent where this server listens, and answers its questions about what the process has used. */
export function report(url) {
  const loop = monitorEventLoopDelay({ resolution: 5 })
  loop.enable()
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const { rss } = process.memoryUsage()
    const loopP99Ms = loop.percentile(99) / 1e6
    process.send({
      cpuMicros: user + system,
      rssBytes: rss,
      maxRssBytes: process.resourceUsage().maxRSS * 1024,
      loopP99Ms,
    })
    loop.reset()
  })
  process.on('disconnect', () => process.exit())
  process.send({ url })
}
