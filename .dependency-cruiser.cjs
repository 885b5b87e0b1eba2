// The layering rule (docs/architecture.md): an import points to its own folder, or further right in
//   commands -> project, server -> store, trace -> agent -> protocols -> errors
const layers = {
  errors: [],
  protocols: ['errors'],
  agent: ['protocols', 'errors'],
  store: ['protocols', 'errors'],
  trace: ['agent', 'protocols', 'errors'],
  server: ['agent', 'store', 'trace', 'protocols', 'errors'],
  project: ['agent', 'protocols', 'errors'],
  commands: ['project', 'server', 'agent', 'store', 'trace', 'protocols', 'errors'],
}
const others = (layer) => Object.keys(layers).filter((name) => name !== layer && !layers[layer].includes(name))

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.keys(layers).map((layer) => ({
      name: `${layer}-imports-only-to-the-right`,
      severity: 'error',
      from: { path: `^src/${layer}(/|\\.ts$)` },
      to: { path: [`^src/(${others(layer).join('|')}|index)(/|\\.ts$)`, '^modules/'] },
    })),
    {
      name: 'adapters-do-not-import-each-other',
      severity: 'error',
      from: { path: '^src/server/adapters/([^/]+)/' },
      to: { path: '^src/server/adapters/', pathNot: '^src/server/adapters/$1/' },
    },
    {
      name: 'modules-import-only-the-front-door',
      comment: 'agent-host, npm packages and their own package folder: that is what makes them ejectable as they are',
      severity: 'error',
      from: { path: '^modules/([^/]+)' },
      to: { path: '^(src|modules)/', pathNot: ['^src/index\\.ts$', '^modules/$1/'] },
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
    tsPreCompilationDeps: true,
    parser: 'swc',
    enhancedResolveOptions: {
      conditionNames: ['agent-host-source', 'import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
}
