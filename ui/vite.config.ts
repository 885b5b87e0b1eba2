import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What the first paint does not need, without the metrics: their plots are large. */
const SCREENS = new RegExp(
  [
    'ui/src/(?:agent|approvals|cases|compare|evals|graph|run|runs|traces)/',
    'ui/src/play/(?!play-address|threads)',
    'ui/src/components/(?:bubble|choice|confirm-button|differences|editor-link|json-tree|memory-list|model-message|parse-json|pictures|replay-mark|schema-fields|split-pane|virtual-list)',
  ].join('|'),
)

export default defineConfig({
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
