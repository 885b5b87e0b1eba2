import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

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
            {
              // They share most of their code: as one file they compress better than in a dozen.
              name: 'runs',
              test: /ui\/src\/(cases|compare|run|runs|traces)\//,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
})
