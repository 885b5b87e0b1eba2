/** For `bin/run.js`: oclif is part of the built code. */
export { execute } from '@oclif/core'
