// The layering rule (docs/architecture.md): an import points to its own floor, or to one further down.
const floors = [
  'commands',
  'project',
  'server',
  'evals',
  'assembly',
  'replicas',
  'tape',
  'audit',
  'limits',
  'durable',
  'store',
  'telemetry',
  'prices',
  'trace',
  'host',
  'run',
  'variants',
  'wiring',
  'module',
  'definition',
  'protocols',
  'redaction',
  'wire',
  'proxy',
  'async',
  'data-url',
  'decode-text',
  'base64',
  'decode-uri',
  'shorten',
  'process-identity',
  'recently-used',
  'read-regular-file',
  'given',
  'json',
  'errors',
]
// Floors that stand beside others: they may not know these, though they come further down.
const beside = {
  project: ['server', 'assembly', 'replicas', 'durable', 'store', 'trace', 'telemetry', 'host', 'run', 'variants'],
  replicas: ['durable', 'telemetry'],
  tape: ['telemetry'],
  durable: ['trace', 'telemetry'],
  store: ['trace', 'telemetry', 'host', 'run', 'variants', 'wiring', 'module', 'definition'],
}
const above = (floor) => floors.slice(0, floors.indexOf(floor))
const others = (floor) => [...above(floor), ...(beside[floor] ?? [])]

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...floors.map((layer) => ({
      name: `${layer}-imports-only-downwards`,
      severity: 'error',
      from: { path: `^src/${layer}(/|\\.ts$)` },
      to: { path: [`^src/(${others(layer).join('|')}|index)(/|\\.ts$)`, '^modules/'] },
    })),
    {
      name: 'adapters-do-not-import-each-other',
      severity: 'error',
      from: { path: '^src/server/adapters/([^/]+)/' },
      to: { path: '^src/server/adapters/[^/]+/', pathNot: '^src/server/adapters/$1/' },
    },
    {
      name: 'modules-import-only-the-front-door',
      comment: 'agent-host, npm packages and their own package folder: that is what makes them ejectable as they are',
      severity: 'error',
      from: { path: '^modules/([^/]+)' },
      to: { path: '^(src|modules)/', pathNot: ['^src/index\\.ts$', '^modules/$1/'] },
    },
    {
      name: 'packages-import-only-the-front-door',
      comment: 'a protocol of a package has what the public interface of adapters has',
      severity: 'error',
      from: { path: '^(packages|testing|test/fixtures)/' },
      to: { path: '^(src|modules)/', pathNot: '^src/index\\.ts$' },
    },
    {
      name: 'packages-reach-no-file-of-others',
      comment: 'by name alone: a package works outside of this repository, too',
      severity: 'error',
      from: { path: '^(packages/[^/]+|testing)/' },
      to: { dependencyTypes: ['local'], pathNot: '^$1/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Its parser does not know `using`; tests may import what they like.
    exclude: { path: '^packages/[^/]+/(test|dist)/' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    enhancedResolveOptions: {
      conditionNames: ['agent-host-source', 'import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
}
