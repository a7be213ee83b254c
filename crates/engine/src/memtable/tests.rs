mod batches;
mod chains;
mod model;
mod rows;
