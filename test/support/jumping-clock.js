// Preloaded into a server: each SIGUSR2 moves the wall clock on to the next of the offsets in CLOCK_OFFSETS (milliseconds).
const offsets = (process.env.CLOCK_OFFSETS ?? '').split(',').map(Number)
const now = Date.now
let offset = 0
Date.now = () => now() + offset
process.on('SIGUSR2', () => {
  offset = offsets.shift() ?? 0
  console.error(`clock moved by ${offset} ms`)
})
