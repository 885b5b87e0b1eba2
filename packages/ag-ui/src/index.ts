/**
 * AG-UI for agent-host: `agent-host serve --adapter @agent-host/ag-ui`.
 * @module @agent-host/ag-ui
 */
export { AgUiAdapter } from './ag-ui-adapter.ts'
export { AgentState, makeAgentState } from './agent-state.ts'
