import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What the first paint does not need, without the metrics: their plots are large. */
const SCREENS = new RegExp(
  [
    'ui/src/(?:agent|approvals|cases|compare|conversation|evals|graph|run|runs|traces)/',
    'ui/src/play/(?!play-address|threads)',
    'ui/src/(?:responses/setup|styles/evals)',
    'src/trace/calls/mermaid',
    'src/(?:shorten|wire/(?:describe-change|format-path|paired-calls))',
    'ui/src/components/(?:bubble|choice|confirm-button|differences|editor-link|json-tree|memory-list|model-message|pictures|replay-mark|schema-fields|split-pane|virtual-list)',
  ].join('|'),
)

/** Fails the build of files that import each other in a circle: the browser may run one before what it needs is there. */
const NO_CIRCLES: Plugin = {
  name: 'no-circles',
  generateBundle(_, bundle) {
    const importsOf = (file: string) => {
      const part = bundle[file]
      return part?.type === 'chunk' ? part.imports : []
    }
    const seen = new Set<string>()
    const visit = (file: string, from: readonly string[]): void => {
      const circle = [...from.slice(from.indexOf(file)), file]
      if (from.includes(file))
        this.error(`Files of the page import each other in a circle: ${circle.join(' -> ')}. ${NEXT_STEP}`)
      if (seen.has(file)) return
      seen.add(file)
      for (const next of importsOf(file)) visit(next, [...from, file])
    }
    for (const file of Object.keys(bundle)) visit(file, [])
  },
}

const NEXT_STEP = "Change what the group 'screens' in ui/vite.config.ts takes: all that its files need, or none of it."

export default defineConfig({
  plugins: [NO_CIRCLES],
  root: here('.'),
  // Addresses relative to the page: it works under any path prefix.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../dist/ui'),
    emptyOutDir: true,
    target: 'es2022',
    // Everything is a file of its own, as the Content-Security-Policy asks.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // They share most of their code: as one file they compress better than in thirty, by 8 KB.
            { name: 'screens', test: SCREENS, includeDependenciesRecursively: false },
          ],
        },
      },
    },
  },
})
