// As `npm test`, one file at a time. Each proof says how long it may take.
const { spec: _, parallel: __, jobs: ___, ...settings } = require('../../.mocharc.cjs')

module.exports = settings
