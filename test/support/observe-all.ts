import { AgentHost } from 'agent-host'

/** Has every host of the tests observed: a run watched and a run unwatched are one program. */
const observed = new WeakSet<AgentHost>()
const { register } = AgentHost.prototype

AgentHost.prototype.register = function (...args) {
  if (!observed.has(this)) {
    observed.add(this)
    this.onEvent(() => {})
  }
  return register.apply(this, args)
}
