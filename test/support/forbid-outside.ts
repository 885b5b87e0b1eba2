import { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

/** Has every connection and every child process but esbuild's fail until the returned function is called. */
export function forbidOutside(): () => void {
  const { connect } = Socket.prototype
  const prototype: { spawn: (options: { readonly file?: string }) => unknown } = ChildProcess.prototype as never
  const { spawn } = prototype
  Socket.prototype.connect = () => {
    throw new Error('A replay connects.')
  }
  prototype.spawn = function (options) {
    if (!options.file?.includes('esbuild')) throw new Error(`A replay starts ${options.file}.`)
    return spawn.call(this, options)
  }
  return () => {
    Socket.prototype.connect = connect
    prototype.spawn = spawn
  }
}
