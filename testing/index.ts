/**
 * Helpers for the tests of adapters: a server over a project of its own, and the checks that every adapter passes.
 * @module agent-host/testing
 */
export { type AdapterCheck, type AdapterSubject, type AskedRequest, listAdapterChecks } from './adapter-checks.ts'
export { type ServedAdapter, type ServeOptions, serveAdapter, type TestedAdapter } from './serve-adapter.ts'
