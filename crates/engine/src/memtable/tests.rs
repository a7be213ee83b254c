mod batches;
mod model;
mod rows;
