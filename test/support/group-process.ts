// Runs a group of processes of which some cannot be made, as on a machine that has no room for another.
// node --import=tsx group-process.ts <program of the processes> <failing forks, such as 1,2>
import cluster from 'node:cluster'
import { runProcesses } from '../../src/commands/server/run-processes.ts'

const [program = '', failing = ''] = process.argv.slice(2)
const fails = new Set(failing.split(',').map(Number))
cluster.setupPrimary({ exec: program, args: [], execArgv: [] })
const fork = cluster.fork.bind(cluster)
let count = 0
cluster.fork = () => {
  count++
  console.log(`fork ${count}`)
  if (fails.has(count)) throw new Error('spawn EAGAIN')
  return fork()
}
await runProcesses(1, (message) => console.log(message), true)
