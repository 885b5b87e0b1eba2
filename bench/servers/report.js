/** Tells the parent where this server listens, and answers its questions about what the process has used. */
export function report(url) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({ cpuMicros: user + system, rssBytes: process.memoryUsage().rss })
  })
  process.on('disconnect', () => process.exit())
  process.send({ url })
}
