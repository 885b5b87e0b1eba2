/** `instance`: created for each run. `agent`: created once, at registration, and shared by all runs. */
export type Scope = 'instance' | 'agent'
